package main

// What the plugins are made of, for its versions.
import _ "github.com/capacity-card/capacity-card/plugin"
