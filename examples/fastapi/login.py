"""A demo login with a list of users and a signed cookie. Replace it with your own."""

import hmac
import json
import os
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import scrypt
from pathlib import Path

SECRET = os.environ.get("SESSION_SECRET", "").encode()
if len(SECRET) < 32:
    raise SystemExit("Set SESSION_SECRET to 32 or more random characters: openssl rand -base64 32")

USERS = json.loads(Path(os.environ.get("USERS_FILE", Path(__file__).parent / "users.json")).read_text())
# Stands in for unknown users, so that response times do not reveal which users exist.
NOBODY = {"salt": "00", "hash": "00" * 32}
WEEK = 7 * 24 * 60 * 60
IS_PRODUCTION = os.environ.get("ENVIRONMENT") == "production"


def is_password(user: str, password: str) -> bool:
    known = USERS.get(user, NOBODY)
    given = scrypt(password.encode(), salt=bytes.fromhex(known["salt"]), n=16384, r=8, p=1, dklen=32)
    return hmac.compare_digest(given, bytes.fromhex(known["hash"]))


def is_refused_demo(user: str, host: str) -> bool:
    """Returns true for a demo user in production, or on an address that other machines can reach."""
    is_public = IS_PRODUCTION or host not in ["127.0.0.1", "::1"]
    return is_public and USERS[user].get("demo", False)


def login_for(user: str) -> str:
    """Returns the value of the login cookie: user, expiry and signature."""
    claim = f"{base64(user.encode())}.{int((time.time() + WEEK) * 1000)}"
    return f"{claim}.{signature_of(claim)}"


def user_of(login: str) -> str | None:
    """Returns the user of a valid login cookie, otherwise None."""
    claim, _, signature = login.rpartition(".")
    if not hmac.compare_digest(signature.encode(), signature_of(claim).encode()):
        return None
    user, expires = claim.split(".")
    return urlsafe_b64decode(user + "===").decode() if int(expires) > time.time() * 1000 else None


def signature_of(claim: str) -> str:
    return base64(hmac.digest(SECRET, claim.encode(), "sha256"))


def base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
