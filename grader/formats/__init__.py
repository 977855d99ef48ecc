"""Readers and writers for the table files teachers have."""
