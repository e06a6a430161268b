"""Settings of the whole project.

Every setting that an operator may change is an environment variable, listed with its
meaning in docs/settings.md (a test compares the two).
"""

import json
import os
import re
from typing import Any
from urllib.parse import unquote, urlsplit

import dj_database_url
from csp.constants import NONE, SELF

from turnwise.accounts.single_sign_on.saml_configuration import read_saml_configuration
from turnwise.live.locations import RESOURCES, data_folder
from turnwise.live.static_files.names import add_cache_header
from turnwise.project.environment import file, flag, mail_address, number, rate
from turnwise.project.job_queues import JOB_QUEUES, QUEUE_OF_TASK, broker_address
from turnwise.project.logs import logging_configuration

ROOT = RESOURCES


VAR = data_folder()


def _embedded(name: str) -> str:
    """Address of an embedded service, as `manage.py serve` wrote it when it started them.

    So `manage.py shell` beside a running server talks to the same database.
    """
    try:
        return str(json.loads((VAR / "services.json").read_text())[name])
    except (OSError, KeyError, json.JSONDecodeError):
        return ""


DATABASE_URL = os.environ.get("DATABASE_URL") or _embedded("DATABASE_URL") or "postgresql:///turnwise"
# What other programs have as DATABASE_URL where `manage.py bootstrap` connects as the owner of the tables.
APPLICATION_DATABASE_URL = os.environ.get("APPLICATION_DATABASE_URL", "")
REDIS_URL = os.environ.get("REDIS_URL") or _embedded("REDIS_URL") or "redis://127.0.0.1:6379/0"

# --- secrets -----------------------------------------------------------------------------------
# `manage.py serve` generates one and keeps it in var/; workers' sessions are signed with it.
SECRET_KEY = os.environ.get("SECRET_KEY", "")
if not SECRET_KEY and (VAR / "secret_key").exists():
    SECRET_KEY = (VAR / "secret_key").read_text().strip()
# They encrypt secrets in the database: the first encrypts, all decrypt.
SECRET_KEYS = tuple(filter(None, map(str.strip, os.environ.get("TURNWISE_SECRET_KEYS", "").split(","))))
if any(len(key) < 32 for key in SECRET_KEYS):
    raise SystemExit(
        "A key in TURNWISE_SECRET_KEYS is shorter than 32 characters and could be guessed. Make a longer "
        "one, such as with: openssl rand -hex 32"
    )

DEBUG = flag("DEBUG", False)
ALLOWED_HOSTS = [
    host.strip() for host in (os.environ.get("ALLOWED_HOSTS") or "localhost,127.0.0.1,[::1]").split(",")
]
HTTPS = flag("TURNWISE_HTTPS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_AGE = 14 * 24 * 3600
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in ALLOWED_HOSTS]

# The largest question set that can be declared, with a translation, has this many fields on its page.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000

INSTALLED_APPS = [
    "turnwise.accounts",
    "turnwise.groups",
    "turnwise.charts",
    "turnwise.manual",
    "turnwise.languages",
    "turnwise.bots",
    "turnwise.contexts",
    "turnwise.knowledge",
    "turnwise.questions",
    "turnwise.studies",
    "turnwise.trash",
    "turnwise.crowd",
    "turnwise.live",
    "turnwise.dialogues",
    "turnwise.operating",
    "turnwise.responses",
    "turnwise.labels",
    "turnwise.questionnaires",
    "turnwise.transcripts",
    "turnwise.acceptance",
    "turnwise.judging",
    "turnwise.experts",
    "turnwise.judges",
    "turnwise.audits",
    "turnwise.quality",
    "turnwise.privacy",
    "turnwise.reports",
    "turnwise.monitoring",
    "turnwise.exports",
    "turnwise.comparisons",
    "turnwise.publications",
    "turnwise.rehearsals",
    "turnwise.webhooks",
    "turnwise.tasks",
    "turnwise.workspace",
    "turnwise.front_door",
    "turnwise.project",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.socialaccount.providers.saml",
    "allauth.usersessions",
    "channels",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "turnwise.live.static_files.serving.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "turnwise.project.middleware.RequestLog",
    "turnwise.project.rest.middleware.RateLimitHeaders",
    "turnwise.project.middleware.WaitForPostgreSQL",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "turnwise.accounts.credentials.FirstPasswordMiddleware",
    "turnwise.accounts.second_factor.RequiredFactorMiddleware",
    "turnwise.project.rest.middleware.ApiMiddleware",
    "turnwise.accounts.audit_log.AuditLogMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "turnwise.project.middleware.RedisOutage",
    "turnwise.project.middleware.NoNulls",
]

ROOT_URLCONF = "turnwise.project.urls"
ASGI_APPLICATION = "turnwise.project.asgi.application"
WSGI_APPLICATION = "turnwise.project.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "turnwise.manual.pages.help_of",
            ],
        },
    },
]

# --- data --------------------------------------------------------------------------------------
# Connections stay with the threads that make pages (project/asgi_middleware.py, or uWSGI's) and with those
# of the consumers (live/database.py). A broken one, as after a restart of PostgreSQL, is replaced before use.
try:
    DATABASES = {"default": dj_database_url.parse(DATABASE_URL, conn_max_age=600, conn_health_checks=True)}
except ValueError:
    raise SystemExit(
        "DATABASE_URL cannot be read. Write it as postgresql://user:password@host:5432/database, "
        "with %40 for @ and %2F for / inside the password."
    ) from None
# A step that waits longer for a row fails instead of holding one of the few threads for good.
DATABASES["default"].setdefault("OPTIONS", {}).setdefault("options", "-c lock_timeout=15s")
# Steps of consumers other than turns and labels, which go in batches (live/sockets/batches.py).
DIALOGUE_DATABASE_THREADS = int(number("TURNWISE_DATABASE_THREADS", 16))
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
CSRF_FAILURE_VIEW = "turnwise.project.middleware.stale_form"
LOGIN_URL = "accounts:sign_in"
LOGIN_REDIRECT_URL = "workspace:home"
LOGOUT_REDIRECT_URL = "accounts:sign_in"
# The first one made the sessions of earlier versions, which stay valid.
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "turnwise.accounts.sign_in_backends.MailboxBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "turnwise.accounts.credentials.DistinctCharactersValidator"},
]

# --- mail --------------------------------------------------------------------------------------
ALARM_MAIL = mail_address("TURNWISE_ALARM_MAIL", os.environ.get("TURNWISE_ALARM_MAIL", ""))
ALARM_FROM = mail_address("TURNWISE_ALARM_FROM", os.environ.get("TURNWISE_ALARM_FROM", ""))
SMTP_URL = os.environ.get("TURNWISE_SMTP_URL", "").strip()
MAIL_FROM = mail_address("TURNWISE_MAIL_FROM", os.environ.get("TURNWISE_MAIL_FROM", ""))
if (ALARM_MAIL or MAIL_FROM) and not re.match(r"(smtp|smtps|smtp\+starttls)://[^/\s]+", SMTP_URL):
    raise SystemExit(
        f"{'TURNWISE_MAIL_FROM' if MAIL_FROM else 'TURNWISE_ALARM_MAIL'} needs TURNWISE_SMTP_URL, such as "
        "smtp+starttls://user:password@host:587, with %40 for @ inside the password."
    )
_mail_server = urlsplit(SMTP_URL)
EMAIL_HOST, EMAIL_PORT = _mail_server.hostname or "localhost", _mail_server.port or 0
EMAIL_HOST_USER = unquote(_mail_server.username or "")
EMAIL_HOST_PASSWORD = unquote(_mail_server.password or "")
EMAIL_USE_SSL, EMAIL_USE_TLS = _mail_server.scheme == "smtps", _mail_server.scheme == "smtp+starttls"
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = MAIL_FROM

# --- signing in --------------------------------------------------------------------------------
SECOND_FACTOR = os.environ.get("TURNWISE_SECOND_FACTOR", "").strip() or "optional"
if SECOND_FACTOR not in ("optional", "admins", "everybody"):
    raise SystemExit(
        f"TURNWISE_SECOND_FACTOR={SECOND_FACTOR!r} is no choice of who needs one. Set it to one of: "
        "optional, admins, everybody."
    )
OIDC_ISSUER = os.environ.get("TURNWISE_OIDC_ISSUER", "").strip().rstrip("/")
_oidc_client = os.environ.get("TURNWISE_OIDC_CLIENT_ID", "").strip()
_oidc_secret = os.environ.get("TURNWISE_OIDC_CLIENT_SECRET", "").strip()
OIDC_NAME = os.environ.get("TURNWISE_OIDC_NAME", "").strip()[:80] or "single sign-on"
OIDC_NEW_PEOPLE = flag("TURNWISE_OIDC_NEW_PEOPLE", False)
if OIDC_ISSUER and not (re.match(r"https?://[^/\s]+", OIDC_ISSUER) and _oidc_client and _oidc_secret):
    raise SystemExit(
        "TURNWISE_OIDC_ISSUER needs an address such as https://login.example.org/realms/lab, and "
        "TURNWISE_OIDC_CLIENT_ID and TURNWISE_OIDC_CLIENT_SECRET, which the identity provider gives you."
    )
OIDC_PROVIDER_ID = "sso"
SAML = read_saml_configuration(admits_new_people=flag("TURNWISE_SAML_NEW_PEOPLE", False))

ACCOUNT_ADAPTER = "turnwise.accounts.adapters.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_VERIFICATION = "none"  # an address is confirmed before it counts, but nobody needs one
ACCOUNT_EMAIL_NOTIFICATIONS = bool(MAIL_FROM)
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"
ACCOUNT_LOGOUT_REDIRECT_URL = LOGOUT_REDIRECT_URL
MFA_ADAPTER = "turnwise.accounts.adapters.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_ALLOW_UNVERIFIED_EMAIL = True  # an account has no address where no mail is sent
MFA_TOTP_TOLERANCE = 1
MFA_TOTP_ISSUER = os.environ.get("TURNWISE_NAME", "").strip()[:80] or "Turnwise"
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not HTTPS  # browsers allow passkeys without TLS on localhost alone
SOCIALACCOUNT_ADAPTER = "turnwise.accounts.adapters.SingleSignOnAdapter"
SOCIALACCOUNT_LOGIN_ON_GET = True
SOCIALACCOUNT_EMAIL_AUTHENTICATION = SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_PROVIDERS: dict[str, dict[str, Any]] = {
    "saml": {
        "provider_class": "turnwise.accounts.single_sign_on.saml_provider.Provider",
        "APPS": [SAML.app()] if SAML else [],
    }
}
if OIDC_ISSUER:
    _app = {
        "provider_id": OIDC_PROVIDER_ID,
        "name": OIDC_NAME,
        "client_id": _oidc_client,
        "secret": _oidc_secret,
        "settings": {"server_url": OIDC_ISSUER, "oauth_pkce_enabled": True},
    }
    SOCIALACCOUNT_PROVIDERS["openid_connect"] = {"APPS": [_app], "OAUTH_PKCE_ENABLED": True}

CACHES = {
    "default": {
        "BACKEND": "turnwise.project.redis_cache.Cache",
        "LOCATION": REDIS_URL,
        # A Redis that hangs must not hold the threads of the pages.
        "OPTIONS": {
            "socket_timeout": 2,
            "socket_connect_timeout": 2,
            "serializer": "turnwise.project.redis_cache.SignedSerializer",
        },
    }
}
API_RATE = rate("TURNWISE_API_RATE", "1200/m")  # requests of a token, or of an address without one
RATELIMIT_FAIL_OPEN = True  # a count that ends while it is read is none; without Redis: accounts/limits.py
CHANNEL_LAYERS = {
    "default": {"BACKEND": "turnwise.live.sockets.layer.RedisPubSubLayer", "CONFIG": {"address": REDIS_URL}}
}

# --- bots --------------------------------------------------------------------------------------
# Which of them this process keeps loaded: all, none, or names separated by commas.
_bots = os.environ.get("TURNWISE_BOTS", "").strip() or "all"
BOTS_HERE = None if _bots == "all" else frozenset(_bots.replace(" ", "").split(",")) - {"none", ""}
BOT_DEADLINE_SECONDS = number("TURNWISE_BOT_DEADLINE", 20)
BOT_MEMORY_BYTES = int(number("TURNWISE_BOT_MEMORY_GB", 0) * 1e9)

CELERY_BROKER_URL = broker_address(REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600, "queue_order_strategy": "priority"}

CELERY_TASK_QUEUES: dict[str, dict[str, str]] = {name: {} for name in JOB_QUEUES}
CELERY_TASK_DEFAULT_QUEUE = "computing"
CELERY_TASK_ROUTES = {task: {"queue": queue} for task, queue in QUEUE_OF_TASK.items()}
CELERY_TASK_CREATE_MISSING_QUEUES = False
JOB_SECONDS = 60 * number("TURNWISE_JOB_MINUTES", 60)
JOB_MEMORY_BYTES = int(number("TURNWISE_JOB_MEMORY_GB", 0) * 1e9)

# --- operation ---------------------------------------------------------------------------------
METRICS_TOKEN = os.environ.get("TURNWISE_METRICS_TOKEN", "").strip()
if METRICS_TOKEN and len(METRICS_TOKEN) < 16:
    raise SystemExit(
        "TURNWISE_METRICS_TOKEN is shorter than 16 characters and could be guessed. Make a longer one, "
        "such as with: openssl rand -hex 24"
    )

ALARM_WEBHOOK = os.environ.get("TURNWISE_ALARM_WEBHOOK", "").strip()
if ALARM_WEBHOOK and not re.match(r"https?://[^/\s]+", ALARM_WEBHOOK):
    raise SystemExit("TURNWISE_ALARM_WEBHOOK is no address. Write it as https://host/path, or unset it.")
LOG_FORMAT = os.environ.get("TURNWISE_LOG_FORMAT", "").strip() or "line"
if LOG_FORMAT not in ("line", "json"):
    raise SystemExit(f"TURNWISE_LOG_FORMAT={LOG_FORMAT!r} is not a format. Set it to one of: line, json.")
ACCESS_LOG = flag("TURNWISE_ACCESS_LOG", False)
TRACES = os.environ.get("TURNWISE_TRACES", "").strip().rstrip("/")
if TRACES and not re.match(r"https?://[^/\s]+", TRACES):
    raise SystemExit(
        f"TURNWISE_TRACES={TRACES!r} is no address. Write the collector's as http://host:4318, or unset it."
    )

# --- the first page ----------------------------------------------------------------------------
INSTALLATION_NAME = os.environ.get("TURNWISE_NAME", "").strip()[:80]
LOGO = file("TURNWISE_LOGO")
IMPRINT = file("TURNWISE_IMPRINT")
PRIVACY_NOTICE = file("TURNWISE_PRIVACY_NOTICE")
DEMO_BOT = os.environ.get("TURNWISE_DEMO_BOT", "").strip()

# --- contact -----------------------------------------------------------------------------------
# Defaults of every study that names none of its own; workers read them on the consent page.
ORGANIZATION = os.environ.get("TURNWISE_ORGANIZATION", "").strip()
CONTACT = mail_address("TURNWISE_CONTACT", os.environ.get("TURNWISE_CONTACT", ""))

# A font with signs that DejaVu Sans lacks, for the PDF of the document for ethics boards.
PDF_FONT = os.environ.get("TURNWISE_PDF_FONT", "").strip()
if PDF_FONT and not os.path.isfile(PDF_FONT):
    raise SystemExit(f"TURNWISE_PDF_FONT={PDF_FONT!r} is no file. Name a font, or unset it.")

# --- pages -------------------------------------------------------------------------------------
STATIC_URL = "static/"
STATIC_ROOT = VAR / "static"
STATICFILES_DIRS = [ROOT / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "turnwise.live.static_files.storage.HashedStaticFiles"},
}
# All that lies there, and not the manifest alone: pages of the previous version load its files.
SERVESTATIC_USE_MANIFEST = False
SERVESTATIC_ADD_HEADERS_FUNCTION = add_cache_header
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "connect-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# Staff pages are English; workers meet these in the language of their study (docs/languages.md).
LANGUAGE_CODE = "en"
LANGUAGES = [
    ("en", "English"),
    ("zh-hans", "Simplified Chinese"),
    ("ar", "Arabic"),
    ("es", "Spanish"),
    ("de", "German"),
    ("fr", "French"),
    ("ja", "Japanese"),
    ("hi", "Hindi"),
]
# First translations: researchers are told so, until a native speaker has read one and its code is removed.
NOT_READ_BY_A_NATIVE_SPEAKER = frozenset({"es", "de", "fr", "ja", "hi"})
LOCALE_PATHS = [ROOT / "locale"]
FORMAT_MODULE_PATH = "turnwise.project.formats"
TIME_ZONE = "UTC"
USE_TZ = USE_I18N = True

SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008"]  # HSTS and redirects belong to the proxy

LOGGING = logging_configuration(LOG_FORMAT)
