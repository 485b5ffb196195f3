# A static binary on an empty image: no shell, no package manager, not root.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=0.1.0-dev
RUN CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" -o /out/emend ./cmd/emend \
 && mkdir -p /out/tmp && chmod 1777 /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/tmp /tmp
COPY --from=build /out/emend /emend
COPY LICENSE /LICENSE
# 65532 is nobody in particular; the working folder is mounted read-only.
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/emend"]
CMD ["serve"]
