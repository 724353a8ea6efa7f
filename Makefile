# The tasks are written in tasks.py; `make` lists them. VENV, PART, MINUTES and SEED reach them as variables.
PYTHON ?= python3

help demo test slow explore fuzz lint oldest bench gallery site pipelines wheel kernels package sbom docs evidence pictures clean:
	@$(PYTHON) tasks.py $@

.PHONY: help demo test slow explore fuzz lint oldest bench gallery site pipelines wheel kernels package sbom docs evidence pictures clean
