"""The types of attributes, as PETWorks names them."""

from __future__ import annotations

__all__ = ["IDENTIFIER", "INSENSITIVE_ATTRIBUTE", "QUASI_IDENTIFIER", "SENSITIVE_ATTRIBUTE"]

IDENTIFIER = "identifier"
SENSITIVE_ATTRIBUTE = "sensitive_attribute"
INSENSITIVE_ATTRIBUTE = "insensitive_attribute"
QUASI_IDENTIFIER = "quasi_identifier"
