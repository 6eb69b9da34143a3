"""The service that takes OpenLineage events from any producer and answers questions.

``intake`` reads and checks an event, ``store`` keeps it (a function of the set
of events, whatever their order), ``graph`` walks the columns, ``routes`` are
the thin HTTP side of it. Importing this package loads nothing heavy; its
dependencies are the extra ``collector``.
"""
