package locklab;
public final class Worker { public static void main(String[] a) { System.out.println("x"); } }
