"""Readers and writers for the table files teachers have.

The doors, each in a module of its own:

- ``table.read_table``: CSV, TSV, XLSX or Parquet into a table of texts; ``limits.Limits`` bounds it.
- ``layouts.read_layout``, ``layouts.read_sheet``: a table as one of the known layouts, into a ``Sheet``.
- ``mapping.propose_mapping``, ``mapping.mapped_cells``: which question is which item.
- ``export.write_long``, ``export.write_back``: results as a long table, or back into the same file.
- ``roster.read_roster``, ``gradebook.write_gradebook``: the Canvas gradebook.
"""
