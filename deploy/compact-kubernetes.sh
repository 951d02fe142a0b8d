#!/bin/sh
# Runs the Spark job on Kubernetes. IMAGE must have Spark in the version of the connector below, topicfold[spark,kafka],
# and deploy/compact.py in /opt/topicfold. The claim topicfold-snapshot is a ReadWriteMany volume. Ivy's directory is
# set because Spark's own image has no home directory that Ivy could write to.
set -eu
volume=spark.kubernetes
exec spark-submit \
    --master "k8s://${KUBERNETES_API:?the address of the API server}" --deploy-mode cluster --name topicfold-compact \
    --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 --conf spark.jars.ivy=/tmp/.ivy \
    --conf spark.kubernetes.container.image="${IMAGE:?the image}" \
    --conf spark.executor.instances=2 --conf spark.executor.cores=2 --conf spark.executor.memory=4g \
    --conf $volume.driver.volumes.persistentVolumeClaim.snapshot.options.claimName=topicfold-snapshot \
    --conf $volume.driver.volumes.persistentVolumeClaim.snapshot.mount.path=/snapshot \
    --conf $volume.executor.volumes.persistentVolumeClaim.snapshot.options.claimName=topicfold-snapshot \
    --conf $volume.executor.volumes.persistentVolumeClaim.snapshot.mount.path=/snapshot \
    local:///opt/topicfold/compact.py --kafka "${BOOTSTRAP:?host:port of a broker}" --snapshot /snapshot "$@"
