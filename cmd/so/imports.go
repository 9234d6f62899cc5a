package main

// The packages of the plugins, for the versions of their dependencies.
import _ "github.com/capacity-card/capacity-card/plugin"
