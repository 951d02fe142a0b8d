#!/bin/sh
# Runs the Spark job on Kubernetes, in the namespace of the nodes. IMAGE must have Spark in the version of the connector
# below, topicfold[spark,kafka], and deploy/compact.py in /opt/topicfold. ACCOUNT is a service account that may make
# pods, services and configmaps: bind the ClusterRole "edit" to it. The claim topicfold-snapshot is a ReadWriteMany
# volume. Ivy's directory is set because Spark's own image has no home directory that Ivy could write to. Settings of
# Kafka are in the Secret of the nodes: if there is none, leave that line out.
set -eu
kubernetes=spark.kubernetes
exec spark-submit \
    --master "k8s://${KUBERNETES_API:?the address of the API server}" --deploy-mode cluster --name topicfold-compact \
    --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 --conf spark.jars.ivy=/tmp/.ivy \
    --conf $kubernetes.namespace="${NAMESPACE:?the namespace of the nodes}" \
    --conf $kubernetes.container.image="${IMAGE:?the image}" \
    --conf $kubernetes.authenticate.driver.serviceAccountName="${ACCOUNT:?the service account}" \
    --conf $kubernetes.driver.secretKeyRef.TOPICFOLD_KAFKA_SETTINGS=topicfold:TOPICFOLD_KAFKA_SETTINGS \
    --conf spark.executor.instances=2 --conf spark.executor.cores=2 --conf spark.executor.memory=4g \
    --conf $kubernetes.driver.volumes.persistentVolumeClaim.snapshot.options.claimName=topicfold-snapshot \
    --conf $kubernetes.driver.volumes.persistentVolumeClaim.snapshot.mount.path=/snapshot \
    --conf $kubernetes.executor.volumes.persistentVolumeClaim.snapshot.options.claimName=topicfold-snapshot \
    --conf $kubernetes.executor.volumes.persistentVolumeClaim.snapshot.mount.path=/snapshot \
    local:///opt/topicfold/compact.py --kafka "${BOOTSTRAP:?host:port of a broker}" --snapshot /snapshot "$@"
