from django.urls import path

from turnwise.workspace.groups import views

app_name = "groups"
urlpatterns = [
    path("groups/", views.groups, name="groups"),
    path("groups/<int:pk>/", views.group, name="group"),
    path("groups/<int:pk>/rename/", views.rename, name="rename"),
    path("groups/<int:pk>/invite/", views.invite, name="invite"),
    path("groups/<int:pk>/invitations/<int:invitation>/revoke/", views.revoke, name="revoke"),
    path("groups/<int:pk>/members/<int:person>/", views.change_member, name="change_member"),
    path("groups/<int:pk>/leave/", views.leave, name="leave"),
    path("groups/<int:pk>/delete/", views.delete, name="delete"),
    path("groups/join/<str:secret>/", views.join, name="join"),
]
