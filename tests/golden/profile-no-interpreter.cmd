# exit 2
printf "#!/no/such/shell\n" >app; chmod +x app; rocm-perf profile --device software ./app
