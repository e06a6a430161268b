"""A small OpenID Connect provider: discovery, authorisation, tokens signed by a key of its own."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa


class IdentityProvider:
    """Lets in one person, with these claims; `requests` has the paths that were asked for."""

    def __init__(self, **claims: Any) -> None:
        self.claims: dict[str, Any] = claims
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.requests: list[str] = []
        self.token_request: dict[str, str] = {}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(provider.get(urlsplit(self.path).path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                provider.token_request = {key: value[0] for key, value in parse_qs(body).items()}
                self._answer(provider.get(self.path))

            def _answer(self, found: dict[str, Any]) -> None:
                content = json.dumps(found).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def get(self, path: str) -> dict[str, Any]:
        """JSON at a path."""
        self.requests.append(path)
        if path == "/.well-known/openid-configuration":
            names = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
            found: dict[str, Any] = {f"{key}_endpoint": f"{self.issuer}/{at}" for key, at in names.items()}
            return found | {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks"}
        if path == "/token":
            return {"access_token": "at", "token_type": "Bearer", "id_token": self._id_token()}
        if path == "/userinfo":
            return self.claims
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [public | {"kid": "one", "alg": "RS256", "use": "sig"}]}

    def _id_token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "turnwise", "iat": now, "exp": now + 60, **self.claims}
        return jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": "one"})

    def consent(self, location: str) -> str:
        """Address to which the provider sends a browser back from its page at `location`."""
        asked = {key: value[0] for key, value in parse_qs(urlsplit(location).query).items()}
        return f"{asked['redirect_uri']}?{urlencode({'code': 'c', 'state': asked['state']})}"

    def end(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
