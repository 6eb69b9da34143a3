"""What the collector keeps: tables, and the writes that make them a function of the events.

Nothing here depends on which event arrived first: sets only grow, of two
statements the newer (by :attr:`Event.order`) stands, and what is derived from
them (definitions, edges, what is closed) is derived again when they change.
"""
