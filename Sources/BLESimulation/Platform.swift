#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// What the simulation needs of the platform's C library.
enum Platform {
    /// The identity of the current thread.
    static var currentThread: UInt { UInt(pthread_self()) }

    /// Returns the logarithm to base 10.
    static func logarithm(_ value: Double) -> Double { log10(value) }
}
