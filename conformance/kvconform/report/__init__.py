"""The event log and the reports that are made from it."""
