// swift-tools-version: 6.3
import PackageDescription

// The map of this package. `Docs/Architecture.md` has the picture; `Scripts/lint` checks that sources import only what
// is declared here.

let package = Package(
    name: "swift-ble",
    platforms: [.macOS(.v15)],
    products: [
        .library("BLE"),
        .library("BLEAssignedNumbers"),
        .library("BLEBTHome"),
        .library("BLEBackendTesting"),
        .library("BLEBeacons"),
        .library("BLEDefinitions"),
        .library("BLEESPHome"),
        .library("BLEFeatures"),
        .library("BLEFirmware"),
        .library("BLEObservation"),
        .library("BLEProfiles"),
        .library("BLERecording"),
        .library("BLESimulation"),
        .library("BLETesting"),
        .library("BLETransfers"),
    ],
    traits: [
        .default(enabledTraits: ["DeviceCommands"]),
        .trait(
            name: "BTHomeEncryption",
            description: """
                Encrypted BTHome reports, in BLEBTHome. Builds swift-crypto's CryptoExtras.
                """),
        .trait(
            name: "DeviceCommands",
            description: """
                `ble devices`, `ble update`, `ble proxy` and `ble demo`, in the command line tool. Builds swift-crypto.
                """),
        .trait(
            name: "DistributedTracingSupport",
            description: "The operations of centrals and hosts as spans. Builds swift-distributed-tracing."),
        .trait(
            name: "Gateway",
            description: """
                `ble gateway`: values on an MQTT broker, a page, and `ble history`. Needs libmosquitto and SQLite, and \
                builds CryptoExtras, FlyingFox and GRDB.
                """,
            enabledTraits: ["BTHomeEncryption", "Web"]),
        .trait(
            name: "LineEditing",
            description: "History, completion and editing of lines in `ble shell`. Needs libedit."),
        .trait(
            name: "MetricsSupport",
            description: "Counters and timers of centrals and hosts. Builds swift-metrics."),
        .trait(
            name: "ServiceLifecycleSupport",
            description: "Central and PeripheralHost are services. Builds swift-service-lifecycle."),
        .trait(name: "Web", description: "`ble web`: a page with the peripherals in range. Builds FlyingFox."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // The wait for the first of several ends, which all actors of this package wait with.
        .module("Waiting"),
        // One thread for sockets, timers and actors, which what talks to a bus or a network runs on.
        .module("Loop", ["CLoop", "Waiting"]),
        .systemLibrary(name: "CLoop"),
        // The central, its seam for backends, and everything that all modules share. No I/O, no Foundation, no C.
        .module("BLE", ["Waiting", .log] + .observability),

        // What is said over Bluetooth: each of these modules needs BLE alone.
        // One type for each standard service.
        .module("BLEProfiles", ["BLE"]),
        // The numbers that the Bluetooth SIG has assigned, and the formats of all its characteristics.
        .module("BLEAssignedNumbers", ["BLE"]),
        // Definitions of peripherals and vendors as JSON.
        .module("BLEDefinitions", ["BLE", "BLEAssignedNumbers"]),
        // Formats of advertising data: iBeacon, Eddystone, RuuviTag, trackers.
        .module("BLEBeacons", ["BLE"]),
        // BTHome v2, a format of advertising data.
        .module("BLEBTHome", ["BLE"] + .blockCipher),
        // Protocols of one's own: messages, their encryption, transactions and devices.
        .module("BLEFeatures", ["BLE", "Waiting", .crypto, .log]),
        // Firmware updates and device management over the Simple Management Protocol of MCUmgr.
        .module("BLEFirmware", ["BLE", "Waiting", .crypto]),
        // Files from a central to a peripheral and back, which go on after a lost link.
        .module("BLETransfers", ["BLE", "Waiting"]),
        // A Bluetooth proxy of ESPHome as a backend.
        .module("BLEESPHome", ["BLE", "Loop", "Waiting", .crypto, .log]),

        // Peripherals as observable objects, for user interfaces.
        .module("BLEObservation", ["BLE"]),

        // A radio in memory, as a backend.
        .module("BLESimulation", ["BLE", "Waiting", .log]),
        // What tests of a program on a simulated radio need besides.
        .module("BLETesting", ["BLE", "BLESimulation", "Waiting", .log]),
        // What happens at the seam of a central or a host, as a file, and the radio that does it again.
        .module("BLERecording", ["BLE", "BLESimulation", "Waiting", .log]),
        // The behavior that all backends must have, as a test suite.
        .module("BLEBackendTesting", ["BLE", "BLEProfiles", "BLESimulation", "Waiting", .log]),

        // A worked example of BLEFeatures. It sees only what any other package would see.
        .example("SmartLock", ["BLE", "BLEFeatures"], "SmartLock/Sources"),
        // The same for a device without replies, found by what it advertises.
        .example(
            "ClassroomRobot",
            ["BLE", "BLEAssignedNumbers", "BLEBeacons", "BLEFeatures", "BLEProfiles", "BLESimulation"],
            "Robot/Sources"),

        // A peripheral for several centrals.
        .example("CoffeeMachine", ["BLE"], "CoffeeMachine/Sources"),

        // Tests, and what they share.
        .support("BLETestSupport", ["BLE", "BLESimulation", "BLETesting", "Waiting", .log]),
        .tests("WaitingTests", ["BLETestSupport", "Waiting"]),
        .tests("LoopTests", ["BLETestSupport", "Loop", "Waiting"]),
        .tests(
            "BLETests",
            ["BLE", "BLEProfiles", "BLESimulation", "BLETestSupport", "Waiting", .log] + .observability
                + .observabilityTests),
        .tests(
            "BLEProfilesTests",
            [
                "BLE", "BLEAssignedNumbers", "BLEBTHome", "BLEBeacons", "BLEProfiles", "BLESimulation",
                "BLETestSupport", .log,
            ]),
        .tests("BLEAssignedNumbersTests", ["BLE", "BLEAssignedNumbers", "BLEProfiles", "BLETestSupport"]),
        .tests("BLEBeaconsTests", ["BLE", "BLEBeacons", "BLESimulation", "BLETestSupport"]),
        .tests("BLEBTHomeTests", ["BLE", "BLEBTHome", "BLETestSupport"] + .blockCipher),
        .tests(
            "BLEDefinitionsTests",
            ["BLE", "BLEAssignedNumbers", "BLEBeacons", "BLEDefinitions", "BLESimulation", "BLETestSupport"]),
        .tests("BLEFeaturesTests", ["BLE", "BLEFeatures", "BLESimulation", "BLETestSupport", "Waiting"]),
        .tests("BLEFirmwareTests", ["BLE", "BLEFirmware", "BLESimulation", "BLETesting"]),
        .tests("BLEESPHomeTests", ["BLE", "BLEESPHome", "BLESimulation", "BLETestSupport", "BLETesting", .crypto]),
        .tests("BLETransfersTests", ["BLE", "BLESimulation", "BLETesting", "BLETransfers"]),
        .tests("BLEObservationTests", ["BLE", "BLEObservation", "BLESimulation", "BLETestSupport"]),
        .tests(
            "BLESimulationTests",
            [
                "BLE", "BLEBackendTesting", "BLEProfiles", "BLESimulation", "BLETestSupport", "BLETesting", "Waiting",
                .log,
            ]),
        .tests(
            "BLERecordingTests",
            [
                "BLE", "BLEBackendTesting", "BLEProfiles", "BLERecording", "BLESimulation", "BLETestSupport",
                "BLETesting", .log,
            ]),
        .testTarget(
            name: "SmartLockTests",
            dependencies: ["SmartLock", "BLE", "BLEFeatures", "BLESimulation", "BLETesting"],
            path: "Docs/Examples/SmartLock/Tests", packageAccess: false, swiftSettings: .strict),
        .testTarget(
            name: "CoffeeMachineTests", dependencies: ["CoffeeMachine", "BLE", "BLESimulation", "BLETesting"],
            path: "Docs/Examples/CoffeeMachine/Tests", packageAccess: false, swiftSettings: .strict),
        .testTarget(
            name: "FleetTests", dependencies: ["BLE", "BLESimulation", "BLETesting"],
            path: "Docs/Examples/Fleet/Tests", packageAccess: false, swiftSettings: .strict),
        .testTarget(
            name: "ClassroomRobotTests",
            dependencies: [
                "ClassroomRobot", "BLE", "BLEAssignedNumbers", "BLEBeacons", "BLEProfiles", "BLESimulation",
                "BLETesting",
            ],
            path: "Docs/Examples/Robot/Tests", packageAccess: false, swiftSettings: .strict),
    ],
    swiftLanguageModes: [.v6]
)

// BlueZ needs GLib, its tests libdbus too. `BLE_WITHOUT_BLUEZ=1 swift test` builds and tests the rest where neither is
// installed. `Docs/Decisions/0007-not-a-trait.md` says why this is not a trait.
#if os(Linux)
    let withBlueZ = Context.environment["BLE_WITHOUT_BLUEZ"] == nil
#else
    let withBlueZ = false
#endif

if withBlueZ {
    package.products += [
        .library("BLEBlueZ"), .library("BLEFakeBlueZ"), .library("BLEProxy"),
        .executable(name: "ble", targets: ["BLECommand"]),
    ]
    package.dependencies += [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // For the fake bluetoothd and the tests. They rely on how this version starts processes; see PrivateBus.
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2", traits: []),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ]
    package.targets += [
        .systemLibrary(name: "CGLib", pkgConfig: "gio-unix-2.0", providers: [.apt(["libglib2.0-dev"])]),
        // A session on a D-Bus bus.
        .module("DBus", ["CGLib", "CLoop", "Loop", "Waiting", .log]),
        .systemLibrary(name: "CEdit", pkgConfig: "libedit", providers: [.apt(["libedit-dev"])]),
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
        // A session on an MQTT broker.
        .module("MQTT", ["BLE", "Loop", "Waiting", .log, .mosquitto]),
        // A central's radio as a Bluetooth proxy of ESPHome, and of a Matter server.
        .module("BLEProxy", ["BLE", "BLEDefinitions", "BLEESPHome", "DBus", "Loop", "Waiting", .crypto, .log]),
        // bluetoothd, as a backend.
        .module("BLEBlueZ", ["BLE", "DBus", "Loop", "Waiting", .log]),
        // bluetoothd's bus interface over a simulated radio, for programs in any language.
        .module(
            "BLEFakeBlueZ",
            ["BLE", "BLEBlueZ", "BLESimulation", "DBus", "Loop", "Waiting", .log, .subprocess, .systemPackage]),
        // The command line tool `ble`.
        .executableTarget(
            name: "BLECommand",
            dependencies: [
                "BLE", "BLEAssignedNumbers", "BLEBTHome", "BLEBeacons", "BLEBlueZ", "BLEDefinitions", "BLEFakeBlueZ",
                "BLEProfiles", "BLERecording", "BLESimulation", "BLETransfers", "Waiting",
                .target(name: "BLEESPHome", condition: .when(traits: ["DeviceCommands"])),
                .target(name: "BLEFeatures", condition: .when(traits: ["DeviceCommands"])),
                .target(name: "BLEFirmware", condition: .when(traits: ["DeviceCommands"])),
                .target(name: "BLEProxy", condition: .when(traits: ["DeviceCommands"])),
                .target(name: "CEdit", condition: .when(traits: ["LineEditing"])),
                .target(name: "SmartLock", condition: .when(traits: ["DeviceCommands"])),
                .target(name: "Loop", condition: .when(traits: ["Gateway", "Web"])),
                .target(name: "MQTT", condition: .when(traits: ["Gateway"])),
                .log, .argumentParser, .grdb, .subprocess, .systemPackage,
            ] + .web,
            resources: [.embedInCode("Web/Page")],
            swiftSettings: .strict),
        // The first program of the README, a program that runs from boot to shutdown, and one that serves a definition
        // in three ways, as any other package would write them.
        .program("FirstProgram", ["BLE", "BLEBlueZ", "BLEProfiles"]),
        .executableTarget(
            name: "Monitor",
            dependencies: [
                "BLE", "BLEBTHome", "BLEBeacons", "BLEBlueZ", "BLEObservation", "BLEProfiles", "BLESimulation",
            ],
            path: "Docs/Examples/Monitor/Sources", packageAccess: false, swiftSettings: .strict),
        .testTarget(
            name: "MonitorTests",
            dependencies: ["Monitor", "BLE", "BLEBeacons", "BLESimulation", "BLETesting"],
            path: "Docs/Examples/Monitor/Tests", packageAccess: false, swiftSettings: .strict),
        .program("StrapLogger", ["BLE", "BLEBlueZ", "BLEProfiles"]),
        // Those of Docs/Radios.md.
        .program("TwoAdapters", ["BLE", "BLEBlueZ"]),
        .program("AdapterAndProxy", ["BLE", "BLEBlueZ", "BLEESPHome", "BLEProfiles"]),
        .program("Hub", ["BLE", "BLEESPHome", "BLEProxy", "BLESimulation"]),
        .program("Thermometer", ["BLE", "BLEBlueZ", "BLEProfiles", "BLESimulation"]),

        // The tests' adversary on a private bus.
        .systemLibrary(
            name: "CDBus", path: "Tests/Tools/CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .support(
            "BlueZTestSupport",
            [
                "BLE", "BLEBlueZ", "BLEFakeBlueZ", "BLESimulation", "BLETestSupport", "BLETesting", "CGLib", "DBus",
                "Loop", .log, .subprocess, .systemPackage,
            ]),
        .tests(
            "BLEProxyTests",
            [
                "AdapterAndProxy", "BLE", "BLEBackendTesting", "BLEBlueZ", "BLEDefinitions", "BLEESPHome",
                "BLEFakeBlueZ", "BLEProfiles", "BLEProxy", "BLESimulation", "BLETestSupport", "BLETesting",
                "BlueZTestSupport", "DBus", "Hub", "Loop", "TwoAdapters", "Waiting", .log, .subprocess,
            ]),
        .tests(
            "MQTTTests",
            [
                "BLE", "BLESimulation", "BLETestSupport", "BLETesting", "BlueZTestSupport", "Loop", "MQTT", "Waiting",
                .log, .mosquitto, .subprocess,
            ]),
        .tests(
            "DBusTests",
            [
                "CDBus", "CGLib", "CLoop", "DBus", "BLEFakeBlueZ", "BLETestSupport", "BlueZTestSupport", "Loop",
                "Waiting", .log,
            ]),
        .tests(
            "BLEBlueZTests",
            [
                "BLE", "BLEBackendTesting", "BLEBlueZ", "BLEFakeBlueZ", "BLEFeatures", "BLEFirmware", "BLEProfiles",
                "BLESimulation", "BLETestSupport", "BLETransfers", "BlueZTestSupport", "DBus", "FirstProgram", "Loop",
                "SmartLock",
                "StrapLogger", "Thermometer", .log, .subprocess, "Waiting",
            ]),
        .tests(
            "BLECommandTests",
            [
                "BLE", "BLEAssignedNumbers", "BLEBTHome", "BLEBeacons", "BLEBlueZ", "BLECommand", "BLEDefinitions",
                "BLEESPHome", "BLEFakeBlueZ", "BLEFeatures", "BLEFirmware", "BLEProfiles", "BLERecording",
                "BLESimulation",
                "BLETestSupport",
                "BLETesting", "BLETransfers", "BlueZTestSupport", "SmartLock", .grdb, .subprocess,
            ] + .web),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "BLE", "BLEBTHome", "BLEBlueZ", "BLESimulation", "DBus", "Loop",
                .target(name: "BLEESPHome", condition: .when(traits: ["DeviceCommands"])),
                .target(name: "BLEFeatures", condition: .when(traits: ["DeviceCommands"])),
                .target(name: "BLEProxy", condition: .when(traits: ["DeviceCommands"])), "Waiting", .log,
            ],
            path: "Tests/Tools/Benchmarks/Swift", swiftSettings: .strict),
        // The program whose start is measured: without Foundation, which `Benchmarks` has for a comparison.
        .executableTarget(
            name: "FirstDiscovery", dependencies: ["BLE", "BLEBlueZ"],
            path: "Tests/Tools/Benchmarks/FirstDiscovery", swiftSettings: .strict),
    ]
}

// `Scripts/docs` builds the documentation with it. Users of the package do not fetch it.
if Context.environment["BLE_DOCS"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// MARK: Words of the map

extension Product {
    static func library(_ name: String) -> Product { .library(name: name, targets: [name]) }
}

extension Target {
    /// A module in `Sources`.
    static func module(_ name: String, _ dependencies: [Dependency] = []) -> Target {
        .target(name: name, dependencies: dependencies, swiftSettings: .strict)
    }

    /// A module in `Docs/Examples`, without access to what is `package`.
    static func example(_ name: String, _ dependencies: [Dependency], _ path: String) -> Target {
        .target(
            name: name, dependencies: dependencies, path: "Docs/Examples/\(path)", packageAccess: false,
            swiftSettings: .strict)
    }

    /// An example program in `Docs/Examples`.
    static func program(_ name: String, _ dependencies: [Dependency]) -> Target {
        .executableTarget(
            name: name, dependencies: dependencies, path: "Docs/Examples/\(name)", sources: ["main.swift"],
            packageAccess: false,
            swiftSettings: .strict)
    }

    /// Tests, in `Tests`.
    static func tests(_ name: String, _ dependencies: [Dependency]) -> Target {
        .testTarget(name: name, dependencies: dependencies, swiftSettings: .strict)
    }

    /// A module that tests share, in `Tests/Support`.
    static func support(_ name: String, _ dependencies: [Dependency]) -> Target {
        .target(name: name, dependencies: dependencies, path: "Tests/Support/\(name)", swiftSettings: .strict)
    }
}

extension Target.Dependency {
    static var argumentParser: Self { .product(name: "ArgumentParser", package: "swift-argument-parser") }
    static var crypto: Self { .product(name: "Crypto", package: "swift-crypto") }
    static var grdb: Self { .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Gateway"])) }
    static var log: Self { .product(name: "Logging", package: "swift-log") }
    static var mosquitto: Self { .target(name: "CMosquitto", condition: .when(traits: ["Gateway"])) }
    static var subprocess: Self { .product(name: "Subprocess", package: "swift-subprocess") }
    static var systemPackage: Self { .product(name: "SystemPackage", package: "swift-system") }
}

extension [Target.Dependency] {
    /// What a trait adds to `BLE`.
    static var observability: Self {
        [
            .product(
                name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["MetricsSupport"])),
            .product(
                name: "ServiceLifecycle", package: "swift-service-lifecycle",
                condition: .when(traits: ["ServiceLifecycleSupport"])),
            .product(
                name: "Tracing", package: "swift-distributed-tracing",
                condition: .when(traits: ["DistributedTracingSupport"])),
        ]
    }

    /// What tests it.
    static var observabilityTests: Self {
        [
            .product(
                name: "InMemoryTracing", package: "swift-distributed-tracing",
                condition: .when(traits: ["DistributedTracingSupport"])),
            .product(
                name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["MetricsSupport"])),
            .product(
                name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle",
                condition: .when(traits: ["ServiceLifecycleSupport"])),
        ]
    }

    /// The server of the page.
    static var web: Self {
        ["FlyingFox", "FlyingSocks"].map {
            .product(name: $0, package: "FlyingFox", condition: .when(traits: ["Web"]))
        }
    }

    /// AES-CCM is made of the block cipher in CryptoExtras.
    static var blockCipher: Self {
        ["Crypto", "CryptoExtras"].map {
            .product(name: $0, package: "swift-crypto", condition: .when(traits: ["BTHomeEncryption"]))
        }
    }
}

extension [SwiftSetting] {
    static var strict: Self {
        [
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("InternalImportsByDefault"),
            .enableUpcomingFeature("MemberImportVisibility"),
            .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            .treatAllWarnings(as: .error),
        ]
    }
}
