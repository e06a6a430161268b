"""Network addresses and erased ids of workers, of which only whether two are the same is ever stored."""

import ipaddress

from django.utils.crypto import salted_hmac

from turnwise.studies.models import Study

# A household has a whole network of them; its devices change theirs every day.
IPV6_NETWORK_BITS = 64


def hashed_id(panel: str, panel_id: str, study: Study) -> str:
    """A panel's id by such a hash: tells that somebody took part in this study, and no more."""
    named = salted_hmac(f"crowd.ids.{study.code}", f"{panel}\n{panel_id}", algorithm="sha256")
    return named.hexdigest()[:32]


def hashed(address: str, study: Study) -> str:
    """The address by a hash with the installation's secret key, another in every study; "" for no address.

    Without the key nobody can try addresses until one fits; across studies nobody can be followed.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        address = str(ipaddress.ip_network((found, IPV6_NETWORK_BITS), strict=False))
    return salted_hmac(f"crowd.addresses.{study.code}", address, algorithm="sha256").hexdigest()[:32]
