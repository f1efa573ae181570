# The image of a sandbox pod (deploy/kubernetes/sandbox.yaml): the daemon of the service's own image, and the programs that commands
# of agents find: deploy/image/build-sandbox.sh builds it. Add what your skills need.
ARG SERVICE_IMAGE
FROM ${SERVICE_IMAGE}
USER root
RUN apt-get update \
  && apt-get install -y --no-install-recommends python3 python3-pandas python3-openpyxl python3-docx python3-pil \
    git jq ripgrep curl zip unzip poppler-utils qpdf pandoc file fonts-dejavu-core \
  && rm -rf /var/lib/apt/lists/*
USER 1000:1000
ENTRYPOINT ["sh", "deploy/image/entrypoint.sh"]
CMD ["sandbox"]
