export default {
  turbopack: { root: import.meta.dirname },
  rewrites: () => [{ source: "/", destination: "/index.html" }],
};
