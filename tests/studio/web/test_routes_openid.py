"""Signing in with a real OpenID Connect provider in a process of its own, and with tokens that are forged."""

import json
import socket
import subprocess
import sys
import time

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from adjudge.studio.records import Refused
from adjudge.studio.settings import OpenID
from adjudge.studio.web.provider import SECRET, Departure, Provider
from adjudge.studio.web.security import COOKIE
from adjudge.studio.work import people

USERS = [
    {"sub": "u1", "email": "ann@uni.example", "email_verified": True, "name": "Ann"},
    {"sub": "u2", "email": "bob@uni.example", "email_verified": False},
    {"sub": "u3", "email": "eve@evil.example", "email_verified": True, "preferred_username": "lea"},
]
CLIENT = "studio"


@pytest.fixture(scope="module")
def issuer():
    """Return the address of a provider in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    users = [part for user in USERS for part in ("--user-claims", json.dumps(user))]
    command = [sys.executable, "-m", "oidc_provider_mock", "-p", str(port), *users]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            httpx.get(f"{address}/.well-known/openid-configuration")
            break
        except httpx.TransportError:
            time.sleep(0.1)
    yield address
    process.terminate()
    process.wait(10)


@pytest.fixture
def site(file_site, issuer, monkeypatch):
    """Return a studio that uses the provider, reached at its own address."""
    monkeypatch.setenv(SECRET, "a secret of this studio")
    settings = f'[openid]\nissuer = "{issuer}"\nclient_id = "{CLIENT}"\nlabel = "Uni"\ndomains = ["uni.example"]\n'
    site = file_site(settings)
    site.studio.address = "http://studio"
    return site


async def there(client, subject, start="/openid/start"):
    """Go to the provider, sign in there as somebody, and return the address that leads back."""
    departure = await client.get(start)
    assert departure.status_code == 303
    async with httpx.AsyncClient() as browser:
        back = await browser.post(departure.headers["location"], data={"sub": subject})
    return back.headers["location"].removeprefix("http://studio")


async def sign_in(client, subject, start="/openid/start"):
    """Sign in with the provider, and return the studio's answer."""
    return await client.get(await there(client, subject, start))


def test_people_come_in_with_a_verified_address_of_a_listed_domain(site):
    """As judges, and as the same person the next time; others need an invitation."""

    async def way():
        async with site.client() as client:
            assert 'href="/openid/start">Sign in with Uni' in (await client.get("/sign-in")).text
            for _ in range(2):
                answer = await sign_in(client, "u1")
                assert (answer.status_code, answer.headers["location"]) == (303, "/judge")
                assert (await client.get("/judge")).status_code == 200
                await client.post("/sign-out")
                client.cookies.clear()
            for stranger in ("u2", "u3"):
                answer = await sign_in(client, stranger, "/openid/start?invitation=forged")
                assert (answer.status_code, "ask a lead" in answer.text.lower()) == (403, True)

    site.run(way())
    assert [(person.name, person.role) for person in site.studio.ledger.people.values()] == [("Ann", "judge")]


def test_an_invitation_gives_the_role_and_nobody_elses_account(site):
    """Who claims the name of a lead at the provider gets another name; the invitation is then used."""
    lea = site.made.person("lea", "lead")
    link = site.studio.signer.invitation(site.made.do(people.invite, "reviewer"))

    async def way():
        async with site.client() as client:
            assert f"/openid/start?invitation={link}" in (await client.get(f"/join/{link}")).text
            answer = await sign_in(client, "u3", f"/openid/start?invitation={link}")
            assert (answer.headers["location"], COOKIE in client.cookies) == ("/desk", True)
            assert (await client.get(f"/join/{link}")).status_code == 410

    site.run(way())
    reviewer = site.studio.ledger.people[max(site.studio.ledger.people)]
    assert (reviewer.name, reviewer.role, reviewer.id != lea) == ("lea 2", "reviewer", True)


def test_an_answer_belongs_to_the_browser_that_asked(site):
    """Another browser, another state, an old departure or a second use: nobody comes in."""

    async def way():
        async with site.client() as client, site.client() as victim:
            back = await there(client, "u1")
            assert (await victim.get(back)).status_code == 403
            await there(victim, "u1")
            assert (await victim.get(back)).status_code == 502  # a state of another browser
            forged = await there(client, "u1") + "x"
            assert (await client.get(forged)).status_code == 502
            back = await there(client, "u1")
            assert (await client.get(back)).status_code == 303
            assert (await client.get(back)).status_code == 403
            back = await there(client, "u1")
            site.made.time[0] += 601
            assert (await client.get(back)).status_code == 403
            assert (await client.get("/openid/callback?error=access_denied&state=x")).status_code == 403

    site.run(way())


def test_without_a_provider_there_is_no_way(file_site):
    """Neither there nor back."""
    site = file_site()
    assert site.ask("GET", "/openid/start").status_code == 404
    assert "/openid/start" not in site.ask("GET", "/sign-in").text


KEY, OTHER = (RSAKey.generate_key(2048, {"kid": "k"}) for _ in range(2))
CLAIMS = {"iss": "https://id.example", "aud": CLIENT, "sub": "u1", "nonce": "n", "iat": 0, "exp": 3_600}


def token(key=KEY, algorithm="RS256", **changes):
    """Return a signed token whose times are relative to now."""
    claims = {**CLAIMS, **changes}
    now = int(time.time())
    claims = {name: value for name, value in claims.items() if value is not None}
    claims = {name: value + now if name in ("iat", "exp") else value for name, value in claims.items()}
    return jwt.encode({"alg": algorithm, "kid": "k"}, claims, key, algorithms=[algorithm])


def arrive(site, text, issuer="https://id.example"):
    """Return who arrives with a token, as the studio's provider reads it."""
    provider = Provider(OpenID(issuer="https://id.example", client_id=CLIENT))
    provider._client.server_metadata.update(
        {
            "_loaded_at": 1,
            "issuer": issuer,
            "token_endpoint": "https://id.example/token",
            "jwks": {"keys": [KEY.as_dict(private=False)]},
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
        }
    )

    async def fetch(**params):
        return {"access_token": "a", "id_token": text} if text else {"access_token": "a"}

    async def fetch_keys(force=False):
        return {"keys": [KEY.as_dict(private=False)]}

    provider._client.fetch_access_token, provider._client.fetch_jwk_set = fetch, fetch_keys
    from starlette.requests import Request

    scope = {"type": "http", "method": "GET", "query_string": b"code=c&state=s", "headers": [], "path": "/"}
    return site.run(provider.arrive(Request(scope), Departure("", "s", "n", "v"), "http://studio/openid/callback"))


def unsigned():
    """Return a token that says that it needs no signature."""
    import base64

    head, claims, _ = token().split(".")
    head = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    return f"{head}.{claims}."


def signed_with_public_key():
    """Return a token whose signature uses the public key as a shared secret."""
    import hashlib
    import hmac
    from base64 import urlsafe_b64encode

    def encode(part):
        return urlsafe_b64encode(part).rstrip(b"=")

    message = encode(b'{"alg":"HS256","kid":"k"}') + b"." + token().split(".")[1].encode()
    signature = hmac.digest(KEY.as_pem(private=False), message, hashlib.sha256)
    return (message + b"." + encode(signature)).decode()


def test_a_valid_token_is_somebody(file_site):
    """The checks below refuse for the reason they name, since this one passes."""
    identity = arrive(file_site(), token(email="ann@Uni.example", email_verified=True))
    assert (len(identity.subject), identity.name, identity.domain) == (64, "ann", "uni.example")
    assert arrive(file_site(), token(email="ann@uni.example", email_verified="true")).domain == ""


@pytest.mark.parametrize(
    "forged",
    [
        lambda: token(iss="https://evil.example"),
        lambda: token(iss=None),
        lambda: token(aud="another"),
        lambda: token(aud=["another", "third"]),
        lambda: token(aud=None),
        lambda: token(nonce="replayed"),
        lambda: token(nonce=None),
        lambda: token(exp=-60),
        lambda: token(exp=None),
        lambda: token(sub=None),
        lambda: token(iat=3_600),
        lambda: token(OTHER),
        lambda: token()[:-8] + "AAAAAAAA",
        unsigned,
        signed_with_public_key,
        lambda: "",
    ],
    ids=lambda forged: "",
)
def test_a_forged_token_is_nobody(file_site, forged):
    """Issuer, audience, nonce, time, signature and algorithm are checked."""
    with pytest.raises(Refused, match="did not work") as refused:
        arrive(file_site(), forged())
    assert refused.value.status == 502


def test_a_provider_that_describes_another_issuer_is_refused(file_site):
    """Its tokens are not read at all."""
    with pytest.raises(Refused, match="did not work"):
        arrive(file_site(), token(), issuer="https://evil.example")
