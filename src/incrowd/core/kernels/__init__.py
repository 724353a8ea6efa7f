"""The compiled loops: arrays in, arrays out, no knowledge of tables, schemas or models.

Every module here imports NumPy. So import a module where a function first needs it, never at the top of a
module that ``incrowd --help`` reaches. The first call of a kernel loads the compiler. Jobs on few rows call
no kernel: `numpy_fallback` computes the same with NumPy.
"""
