"""The OpenID Connect provider of a campaign: where people are sent to sign in, and who comes back.

Authlib does the protocol: authorization code with PKCE, state and nonce, and the checks of the signed token. On top of
it, the issuer must be exactly the one in the settings, the audience must be us, and the signature must be asymmetric,
whatever the provider's own description allows. What is to be remembered until somebody comes back (state, nonce, PKCE
verifier) is in a signed cookie of their browser.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import Request

from adjudge.errors import MissingExtra
from adjudge.studio.records import Refused
from adjudge.studio.settings import OpenID

SECRET = "ADJUDGE_OPENID_SECRET"  # the variable with the client's secret
NAME = "openid"  # of the provider, for Authlib
SAFE_ALGORITHMS = frozenset(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"))
SECONDS = 10.0  # that the provider may take to answer
LEEWAY = 30  # seconds by which its clock may differ


class Departure(NamedTuple):
    """Where somebody is sent, and what must be remembered until they come back."""

    url: str
    state: str
    nonce: str
    verifier: str


class Identity(NamedTuple):
    """Who somebody is, as the provider says."""

    subject: str  # a hash of issuer and subject, which says nothing of the person
    name: str
    domain: str  # of a verified e-mail address, or an empty text


class Provider:
    """The provider in the settings."""

    def __init__(self, settings: OpenID) -> None:
        self.settings, self._client = settings, _client(settings)

    async def depart(self, redirect_uri: str) -> Departure:
        """Return where to send somebody who wants to sign in; the provider sends them back to ``redirect_uri``."""
        try:
            await self._description()
            authorization = await self._client.create_authorization_url(redirect_uri)
        except Exception as error:
            raise _failed(error) from error
        return Departure(
            authorization["url"], authorization["state"], authorization["nonce"], authorization["code_verifier"]
        )

    async def arrive(self, request: Request, departure: Departure, redirect_uri: str) -> Identity:
        """Return who came back, or refuse: a wrong state, nonce, issuer, audience, signature or time is nobody."""
        data = {"nonce": departure.nonce, "code_verifier": departure.verifier, "redirect_uri": redirect_uri}
        request.scope["session"] = {f"_state_{NAME}_{departure.state}": {"data": data, "exp": float("inf")}}
        options = {
            "iss": {"essential": True, "value": self.settings.issuer},
            "aud": {"essential": True, "value": self.settings.client_id},
        }
        try:
            await self._description()
            token = await self._client.authorize_access_token(request, claims_options=options, leeway=LEEWAY)
            return _identity(self.settings.issuer, token["userinfo"])
        except Exception as error:
            raise _failed(error) from error

    async def _description(self) -> None:
        """Load the provider's description of itself, and keep only signatures that nobody else can make."""
        description = await self._client.load_server_metadata()
        if description.get("issuer") != self.settings.issuer:
            raise ValueError("the provider describes another issuer")
        offered = description.get("id_token_signing_alg_values_supported") or ["RS256"]
        description["id_token_signing_alg_values_supported"] = [each for each in offered if each in SAFE_ALGORITHMS]


def _client(settings: OpenID) -> Any:
    """Return Authlib's client of a provider, or name the extra that is missing."""
    try:
        from authlib.integrations.starlette_client import OAuth
    except ImportError as error:
        raise MissingExtra("'adjudge[openid]'", "the section [openid] of campaign.toml") from error
    return OAuth().register(
        NAME,
        client_id=settings.client_id,
        client_secret=os.environ.get(SECRET) or None,
        server_metadata_url=f"{settings.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256", "timeout": SECONDS},
    )


def _identity(issuer: str, claims: Mapping[str, Any]) -> Identity:
    """Return the identity in the claims of a checked token."""
    subject = hashlib.sha256(f"{issuer}\0{claims['sub']}".encode()).hexdigest()
    email = str(claims.get("email") or "") if claims.get("email_verified") is True else ""
    names = (claims.get("preferred_username"), claims.get("name"), email.partition("@")[0])
    return Identity(subject, next((str(name) for name in names if name), ""), email.rpartition("@")[2].lower())


def _failed(error: Exception) -> Refused:
    """Return the refusal of somebody whose sign-in at the provider did not work; the log has the kind of error."""
    sentence = "Signing in there did not work. Go back and try again; if it fails again, ask a lead."
    return Refused(502, "openid_failed", sentence, reason=type(error).__name__)
