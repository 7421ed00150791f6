"""Work that is spread over processes and machines: chunks of one file, or jobs over many files.

`machines.py` spreads calls over the processes of one machine, or those of a Ray cluster, and does
not know what is called. `linking.py` and `encoding.py` say what is done with a chunk or a file;
`parts.py` turns files into parts, skips those that are done, and writes the index.
"""
