// swift-tools-version: 5.9
import PackageDescription

let package = Package(
    name: "KvConformDriver",
    platforms: [.macOS(.v13)],
    products: [
        .executable(name: "driver", targets: ["ExampleDriver"]),
        .library(name: "KvConformKit", targets: ["KvConformKit"]),
    ],
    targets: [
        .target(name: "KvConformKit"),
        .executableTarget(name: "ExampleDriver", dependencies: ["KvConformKit"]),
        .testTarget(name: "VectorTests", dependencies: ["ExampleDriver", "KvConformKit"]),
    ]
)
