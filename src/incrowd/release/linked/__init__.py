"""Linked tables: several tables about the same people, anonymized and judged together."""

from incrowd.release.linked.judged import JoinedView as JoinedView
from incrowd.release.linked.judged import assess_linked as assess_linked
from incrowd.release.linked.policy import LinkedPolicy as LinkedPolicy
from incrowd.release.linked.policy import LinkedTable as LinkedTable
from incrowd.release.linked.release import LinkedRelease as LinkedRelease
from incrowd.release.linked.release import anonymize_linked as anonymize_linked
