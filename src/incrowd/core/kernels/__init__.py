"""The compiled loops: arrays in, arrays out, no knowledge of tables, schemas or models.

Every module here imports NumPy, so import them where they are first used, never at the top of a module
that ``incrowd --help`` reaches. The compiler is loaded when a kernel is first called. Jobs on few rows
call none: `few` does with NumPy what they would do.
"""
