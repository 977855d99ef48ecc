"""Offline evidence: data sets, protocols, baselines, abuse suite, training of what ships."""
