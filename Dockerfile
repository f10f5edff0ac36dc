# One static binary and nothing else. No CA certificates and no time zones: the lab talks to its own
# servers only, and in UTC. BuildKit keeps modules and compiled packages between builds.
ARG GO_IMAGE=golang:1.26.8-bookworm
FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY . .
ARG VERSION=dev
ENV GOCACHE=/go/cache
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/cache \
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X 'main.stamp=${VERSION}'" -o /app ./cmd/app

FROM scratch AS app
COPY --from=build /app /app
USER 65534:65534
ENV LAB_LISTEN=0.0.0.0:8080
EXPOSE 8080
ENTRYPOINT ["/app"]
CMD ["serve"]
