# The tasks are written in tasks.py; `make` lists them. Variables such as VENV, PART and SEED reach them.
PYTHON ?= python3

help demo test test-for slow explore fuzz lint oldest bench gallery site pipelines wheel kernels package bundle recipes sbom docs evidence pictures clean:
	@$(PYTHON) tasks.py $@

.PHONY: help demo test test-for slow explore fuzz lint oldest bench gallery site pipelines wheel kernels package bundle recipes sbom docs evidence pictures clean
