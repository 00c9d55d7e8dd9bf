"""Runs: which ones a study needs, how they are trained, and how they are stored and read back.

    studies     the studies as data; imports the standard library only, so that the command line
                can list them without loading torch
    record      one finished run: what is stored of it, and the Result made from it again
    store       the append-only store of records
    table       specifications of studies, those without a record, records as rows of a table
    sweep       train the runs that have no record yet
    executors   where batches are trained: in this process or in others of this machine
    cluster     the same on the workers of a Dask scheduler
    progress    progress bars, and how long runs take at the pace of the records
    streams     stdout and stderr whose reader may go away
    provenance  version of the numerics, processor and commit behind a record
    verify      check every record without training
    audit       retrain a sample of the records and compare to the bit
    files       replace a file atomically

This room imports the core only. Import from the modules by name: nothing is loaded here.
"""
