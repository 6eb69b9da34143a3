"""What was observed by running queries, and how a lineage stands beside it."""
