"""Routes of signing in with an OpenID Connect provider: there, and back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response

from adjudge.studio.records import Refused
from adjudge.studio.web.provider import Departure, Provider
from adjudge.studio.web.render import translate
from adjudge.studio.web.security import check_host, cookie_name, link_to, root_of, studio_of
from adjudge.studio.web.session_cookies import begin_attempt, client_address, end_attempt, set_cookie, start_session
from adjudge.studio.work.identities import come_in

router = APIRouter(dependencies=[Depends(check_host)])
DEPARTURE = "_openid"  # ends the name of the cookie with what is remembered
SECONDS = 600  # that somebody may take at the provider
BACK = "/openid/callback"


def provider_of(request: Request) -> Provider:
    """Return the provider of the campaign, or refuse if it has none."""
    settings = studio_of(request).campaign.settings.openid
    if not settings.issuer:
        raise Refused(404, "openid", "This campaign has no OpenID Connect provider.")
    provider: Provider | None = getattr(request.app.state, "provider", None)
    if provider is None or provider.settings != settings:  # settings can be edited at the desk
        provider = request.app.state.provider = Provider(settings)
    return provider


@router.get("/openid/start")
async def start(request: Request, invitation: Annotated[str, Query(max_length=1_000)] = "") -> Response:
    """Send somebody to the provider, with the invitation that they accept if they have one."""
    studio = studio_of(request)
    departure = await provider_of(request).depart(link_to(request, BACK))
    response = RedirectResponse(departure.url, 303)
    number = studio.signer.read_invitation(invitation) or 0
    remembered = studio.signer.departure([*departure[1:], number], studio.now() + SECONDS)
    set_cookie(request, response, DEPARTURE, remembered, SECONDS)
    return response


@router.get(BACK)
async def callback(request: Request) -> Response:
    """Let in whom the provider sends back."""
    studio, buckets = studio_of(request), [("link", client_address(request))]
    begin_attempt(request, buckets)
    name = cookie_name(request) + DEPARTURE
    remembered = studio.signer.read_departure(request.cookies.get(name), studio.now())
    if remembered is None:
        raise Refused(403, "openid_failed", "Your sign-in took too long or began in another browser. Please try again.")
    state, nonce, verifier, invitation = remembered
    identity = await provider_of(request).arrive(request, Departure("", state, nonce, verifier), link_to(request, BACK))
    domains = studio.campaign.settings.openid.domains
    try:
        person = await studio.do(come_in, *identity, invitation or None, domains)
    except Refused as error:
        raise Refused(error.status, error.code, translate(request, error)) from error
    begin_attempt(request, [("sessions", str(person))])
    end_attempt(request, buckets)
    response = await start_session(request, studio.ledger.people[person])
    response.delete_cookie(name, path=root_of(request) or "/")
    return response
