# exit 2
printf "\001\002\003" >app; chmod +x app; rocm-perf profile --device software ./app
