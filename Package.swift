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
/// AES-CCM is made of the block cipher in CryptoExtras.
let bthomeEncryption = ["Crypto", "CryptoExtras"].map {
    Target.Dependency.product(name: $0, package: "swift-crypto", condition: .when(traits: ["BTHomeEncryption"]))
}
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let log = Target.Dependency.product(name: "Logging", package: "swift-log")

let package = Package(
    name: "swift-ble",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "BLE", targets: ["BLE"]),
        .library(name: "BLEBTHome", targets: ["BLEBTHome"]),
        .library(name: "BLEFeatures", targets: ["BLEFeatures"]),
        .library(name: "BLEProfiles", targets: ["BLEProfiles"]),
        .library(name: "BLESimulation", targets: ["BLESimulation"]),
    ],
    traits: [
        .default(enabledTraits: ["DeviceCommands"]),
        .trait(
            name: "BTHomeEncryption",
            description: "Encrypted BTHome reports, in BLEBTHome. Builds swift-crypto's CryptoExtras."),
        .trait(
            name: "DeviceCommands",
            description: "`ble devices` and `ble demo`, in the command line tool. Builds BLEFeatures and swift-crypto."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .target(name: "BLE", dependencies: [log], swiftSettings: settings),
        .target(name: "BLEFeatures", dependencies: ["BLE", crypto, log], swiftSettings: settings),
        .target(
            name: "BLEBTHome", dependencies: ["BLE", "BLEProfiles"] + bthomeEncryption, swiftSettings: settings),
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
            dependencies: ["BLEFeatures", "BLESimulation", "BLETestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "BLEBTHomeTests",
            dependencies: ["BLEBTHome", "BLE", "BLEProfiles", "BLETestSupport"] + bthomeEncryption,
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
        // For the tests alone. They rely on how this version starts processes; see TestProgram.
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2", traits: []),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
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
                "BLE", "BLEBlueZ", "BLEProfiles", "BLESimulation",
                .target(name: "BLEFeatures", condition: .when(traits: ["DeviceCommands"])),
                .target(name: "SmartLock", condition: .when(traits: ["DeviceCommands"])),
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
