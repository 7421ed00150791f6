"""The reconciliation protocol that OpenRefine speaks, version 0.2.

It is specified by the W3C community report of 2023-04-10. `routes.router` is the only part that
knows HTTP.
"""
