"""Single sign-on: which identity providers there are, and SAML beside allauth's OpenID Connect."""
