"""What a credit rests on: one module a kind of evidence."""
