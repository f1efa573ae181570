# Debian: Temporal's core has no musl build. Node's newest long-term release. deploy/image/build.sh names the base image by its digest.
ARG NODE_IMAGE=node:26-bookworm-slim
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/root/.npm npm ci --no-audit --no-fund
COPY . .
RUN npm run build

# A tree of its own: what only development needs (TypeScript, the embedded Postgres, linters) never enters the image.
FROM ${NODE_IMAGE} AS production
WORKDIR /app
COPY package.json package-lock.json ./
COPY deploy/image ./deploy/image
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --no-audit --no-fund \
  && sh deploy/image/prune.sh "$(node -p 'process.arch === "x64" ? "x86_64" : "aarch64"')-unknown-linux-gnu"

FROM ${NODE_IMAGE}
# The sandbox of commands; prlimit, setpriv and bash are in the base image.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 METRICS_PORT=9464
WORKDIR /app
COPY --from=production /app/package.json ./
COPY --from=production /app/node_modules ./node_modules
COPY --from=production /app/deploy/image ./deploy/image
COPY --from=build /app/dist ./dist
# Numeric: Kubernetes' runAsNonRoot cannot see that a name is not root's. Nothing is written outside of volumes.
USER 1000:1000
EXPOSE 8080 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["node", "deploy/image/healthcheck.mjs"]
ENTRYPOINT ["sh", "deploy/image/entrypoint.sh"]
CMD ["api"]
