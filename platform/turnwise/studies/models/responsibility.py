"""Fields of a study that say who conducts it and who answers questions about it."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Responsibility(models.Model):
    """People who conduct a study and their address; the defaults are settings of the installation."""

    conducted_by = models.CharField(
        max_length=200,
        blank=True,
        verbose_name=_("conducted by"),
        help_text=_(
            "People and institution, such as: Dialogue Lab, University of Example. Workers read it at the "
            "top of the consent page. Empty: the setting TURNWISE_ORGANIZATION of this installation."
        ),
    )
    contact = models.EmailField(
        blank=True,
        verbose_name=_("address for questions"),
        help_text=_(
            "Workers see it on the consent page, at the end, and wherever somebody is turned away. Empty: "
            "the setting TURNWISE_CONTACT of this installation. A study that pays needs an address."
        ),
    )

    class Meta:
        abstract = True

    @property
    def organization(self) -> str:
        """The people or institution that workers read as conducting the study; empty if unknown."""
        return self.conducted_by or settings.ORGANIZATION

    @property
    def contact_address(self) -> str:
        """Address to which workers write; empty if neither the study nor the installation has one."""
        return self.contact or settings.CONTACT
