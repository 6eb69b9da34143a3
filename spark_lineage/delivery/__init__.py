"""Delivery of events: a durable spool, one worker, transports."""
