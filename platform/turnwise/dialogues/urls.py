from django.urls import path

from turnwise.dialogues import picture_views

app_name = "dialogues"
urlpatterns = [
    path("s/<slug:code>/picture/", picture_views.upload, name="upload"),
    path("pictures/<str:token>/", picture_views.picture, name="picture"),
    path(
        "conversations/<uuid:public_id>/pictures/<int:pk>/", picture_views.staff_picture, name="staff_picture"
    ),
]
