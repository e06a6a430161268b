from django.urls import path

from labels.consumers import LabellingConsumer

websocket_urlpatterns = [path("ws/dialogues/<uuid:public_id>/", LabellingConsumer.as_asgi())]
