FROM node:26.10-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Without the development packages, and so without the second Node among them.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:26.10-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY src ./src

# The image's own `node` user, by number: `runAsNonRoot` cannot check a name. Nothing is ever written, so the root file
# system may be read-only.
USER 1000:1000

# The configuration must say `listen: { host: 0.0.0.0, port: 8080 }`: its default host is the container's loopback.
EXPOSE 8080
STOPSIGNAL SIGTERM
# Over http or, with listen.tls, https; whose certificate it is does not matter to whether the process is alive.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; const ask = (scheme) => fetch(scheme + '://127.0.0.1:8080/-/livez'); ask('http').catch(() => ask('https')).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["node", "src/main.ts"]
CMD ["serve", "/etc/countersign/countersign.yaml"]
