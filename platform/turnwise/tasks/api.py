from turnwise.tasks import discovery

routers = [each.router for each in discovery.each("api")]
