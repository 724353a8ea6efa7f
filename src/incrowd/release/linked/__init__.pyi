"""Names of the room, each with its file."""

from .judged import JoinedView as JoinedView
from .judged import assess_linked as assess_linked
from .policy import LinkedPolicy as LinkedPolicy
from .policy import LinkedTable as LinkedTable
from .release import LinkedRelease as LinkedRelease
from .release import anonymize_linked as anonymize_linked
