"""The platform: Django apps that run studies in which people evaluate chatbots."""
