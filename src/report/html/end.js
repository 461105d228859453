main();
})();
