"""The compiled loops: arrays in, arrays out, no knowledge of tables, schemas or models.

Every module here imports the compiler, so import them where they are first used, never at the top
of a module that ``incrowd --help`` reaches.
"""
