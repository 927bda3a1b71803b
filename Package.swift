// swift-tools-version: 6.3
import PackageDescription

/// The BlueZ backend, the command line tool and their tests need GLib and D-Bus. `BLE_WITHOUT_BLUEZ=1 swift test` leaves
/// them out, which is how the rest builds and passes its tests where neither library is installed.
#if os(Linux)
    let withBlueZ = Context.environment["BLE_WITHOUT_BLUEZ"] == nil
#else
    let withBlueZ = false
#endif

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let log = Target.Dependency.product(name: "Logging", package: "swift-log")

let package = Package(
    name: "swift-ble",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "BLE", targets: ["BLE"]),
        .library(name: "BLEBTHome", targets: ["BLEBTHome"]),
        .library(name: "BLEFeatures", targets: ["BLEFeatures"]),
        .library(name: "BLEFeaturesConfiguration", targets: ["BLEFeaturesConfiguration"]),
        .library(name: "BLEProfiles", targets: ["BLEProfiles"]),
        .library(name: "BLESimulation", targets: ["BLESimulation"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        .target(name: "BLE", dependencies: [log], swiftSettings: settings),
        .target(name: "BLEFeatures", dependencies: ["BLE", crypto, log], swiftSettings: settings),
        .target(
            name: "BLEFeaturesConfiguration",
            dependencies: [
                "BLE", "BLEFeatures", .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings),
        // Its own module, since only its encryption needs CryptoExtras, which takes long to build.
        .target(
            name: "BLEBTHome", dependencies: ["BLE", "BLEProfiles", crypto, cryptoExtras], swiftSettings: settings),
        .target(name: "BLEProfiles", dependencies: ["BLE"], swiftSettings: settings),
        .target(name: "BLESimulation", dependencies: ["BLE", log], swiftSettings: settings),
        .target(
            name: "BackendContract", dependencies: ["BLE", "BLEProfiles", "BLESimulation", log],
            path: "Tests/BackendContract",
            swiftSettings: settings),
        .target(
            name: "BLETestSupport", dependencies: ["BLE", "BLESimulation", log], path: "Tests/TestSupport",
            swiftSettings: settings),
        // The worked example of BLEFeatures: it sees what any other package would see.
        .target(
            name: "SmartLock", dependencies: ["BLE", "BLEFeatures"], path: "Docs/SmartLock/Sources",
            packageAccess: false, swiftSettings: settings),
        .testTarget(
            name: "SmartLockTests",
            dependencies: ["SmartLock", "BLE", "BLEFeatures", "BLESimulation", "BLETestSupport"],
            path: "Docs/SmartLock/Tests", packageAccess: false, swiftSettings: settings),
        .testTarget(
            name: "BLETests", dependencies: ["BLE", "BLEProfiles", "BLESimulation", "BLETestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "BLEFeaturesTests",
            dependencies: ["BLEFeatures", "BLEFeaturesConfiguration", "BLESimulation", "BLETestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "BLEBTHomeTests", dependencies: ["BLEBTHome", "BLE", "BLEProfiles", "BLETestSupport", crypto],
            swiftSettings: settings),
        .testTarget(
            name: "BLEProfilesTests", dependencies: ["BLEProfiles", "BLESimulation", "BLETestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "BLESimulationTests",
            dependencies: ["BLESimulation", "BLEProfiles", "BackendContract", "BLETestSupport"],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

if withBlueZ {
    package.products += [
        .library(name: "BLEBlueZ", targets: ["BLEBlueZ"]),
        .executable(name: "ble", targets: ["BLECommand"]),
    ]
    package.dependencies += [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // For the tests alone.
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
    ]
    package.targets += [
        .systemLibrary(
            name: "CGLib", pkgConfig: "gio-unix-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .systemLibrary(
            name: "CDBus", path: "Tests/CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .target(name: "DBus", dependencies: ["CGLib", log], swiftSettings: settings),
        .target(name: "BLEBlueZ", dependencies: ["BLE", "DBus", log], swiftSettings: settings),
        .executableTarget(
            name: "BLECommand",
            dependencies: [
                "BLE", "BLEBlueZ", "BLEFeatures", "BLEFeaturesConfiguration", "BLEProfiles", "BLESimulation",
                "SmartLock",
                log,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        .target(
            name: "BlueZTestSupport",
            dependencies: [
                "BLE", "BLEBlueZ", "BLESimulation", "BLETestSupport", "DBus", log,
                subprocess, .product(name: "SystemPackage", package: "swift-system"),
            ],
            path: "Tests/BlueZTestSupport", swiftSettings: settings),
        .testTarget(
            name: "DBusTests", dependencies: ["DBus", "CDBus", "BLETestSupport", "BlueZTestSupport"],
            swiftSettings: settings),
        .executableTarget(
            name: "ReadmeExample", dependencies: ["BLE", "BLEBlueZ", "BLEProfiles"], path: "Tests/ReadmeExample",
            swiftSettings: settings),
        .testTarget(
            name: "BLEBlueZTests",
            dependencies: [
                "ReadmeExample", "SmartLock", "BLEBlueZ", "BLEFeatures", "BLEProfiles", "BLESimulation",
                "BackendContract", "BLETestSupport", "BlueZTestSupport", subprocess,
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "Benchmarks", dependencies: ["BLE", "BLEBlueZ", "BLEFeatures", "BLESimulation", "DBus", log],
            path: "Tests/Benchmarks/Swift",
            swiftSettings: settings),
        .testTarget(
            name: "BLECommandTests",
            dependencies: [
                "BLECommand", "BLESimulation", "BLETestSupport", "BlueZTestSupport", "SmartLock", subprocess,
            ],
            swiftSettings: settings),
    ]
}
