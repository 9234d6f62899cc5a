{{- define "capacity-card.labels" -}}
app.kubernetes.io/name: capacity-card
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The rules of the viewer, with the name of the scheduler's ConfigMap in this cluster. */}}
{{- define "capacity-card.viewerRules" -}}
{{- range (.Files.Get "files/clusterrole.yaml" | fromYaml).rules }}
{{- if .resourceNames }}
{{- $_ := set . "resourceNames" (list $.Values.scheduler.configMap) }}
{{- end }}
- {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
